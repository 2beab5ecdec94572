package doctor

// facilitiesHere are those of Linux, on which several ranks depend.
var facilitiesHere []Facility
