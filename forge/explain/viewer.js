// Choosing a value lights it up wherever it is named. Where a pass has replaced
// it, the lines that stem from the same places in the source stand in for it.
for (const root of document.querySelectorAll(".forge-explain:not([data-on])")) {
  root.dataset.on = "";
  const all = (selector) => [...root.querySelectorAll(selector)];
  const info = root.querySelector(".fx-info");
  const invite = "Click a value, a line or a word of the source to see what became of it. Escape clears.";

  // The plot is an image, so that it shows without scripts; as part of the page
  // its boxes can be chosen.
  for (const img of all("img.fx-plot")) {
    const text = new TextDecoder().decode(Uint8Array.from(atob(img.src.split(",")[1]), (c) => c.charCodeAt(0)));
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    if (svg.nodeName !== "svg") continue;
    svg.style.maxWidth = "100%";
    svg.style.height = "auto";
    const plot = document.importNode(svg, true);
    plot.classList.add("fx-plot");
    for (const title of plot.querySelectorAll("g > title")) {
      const name = /^%([\p{L}\p{N}_]+)/u.exec(title.textContent);
      if (name) title.parentElement.dataset.v = name[1];
    }
    img.replaceWith(plot);
  }

  const places = (line) => (line.dataset.p || "").split(" ").filter(Boolean);
  const light = (element, how) => element.classList.add(how);
  const clear = () => {
    for (const how of ["fx-lit", "fx-kin"]) all("." + how).forEach((element) => element.classList.remove(how));
    info.textContent = invite;
  };

  // Each column comes to its first lit line. Only the column moves, not the page.
  const reveal = () => {
    for (const column of all(".fx-col")) {
      const line = column.querySelector("div.fx-lit") || column.querySelector("div.fx-kin");
      if (!line) continue;
      const shift = line.getBoundingClientRect().top - column.getBoundingClientRect().top;
      if (shift < 0 || shift > column.clientHeight - 30) column.scrollTop += shift - column.clientHeight / 3;
    }
  };

  const tell = (name, line, columns, count) => {
    info.textContent = "";
    const strong = document.createElement("b");
    strong.textContent = line ? line.textContent.replace(/^\+?\s+/, "").replace(/\s+−?\s*$/, "").replace(/\s{2,}(\d+:\d+)$/, "   $1") : name;
    info.append(strong, ` · in ${columns} of ${count} columns`);
  };

  const chooseValue = (key) => {
    clear();
    const lines = all("[data-d]").filter((line) => line.dataset.d === key);
    const from = new Set(lines.flatMap(places));
    all("[data-v]").filter((e) => e.dataset.v === key).forEach((e) => light(e, "fx-lit"));
    let found = 0;
    const columns = all(".fx-col").filter((column) => column.querySelector("[data-d]"));
    for (const column of columns) {
      const own = lines.filter((line) => column.contains(line));
      own.forEach((line) => light(line, "fx-lit"));
      if (own.length > 0) { found++; continue; }
      for (const line of column.querySelectorAll("[data-d]")) {
        if (places(line).some((p) => from.has(p))) light(line, "fx-kin");
      }
    }
    lightSource(from);
    tell("%" + key, lines[lines.length - 1], found, columns.length);
    reveal();
  };

  const lightSource = (from) => {
    all("[data-s]").filter((e) => from.has(e.dataset.s)).forEach((e) => {
      light(e, "fx-lit");
      light(e.parentElement, "fx-kin");
    });
  };

  const choosePlaces = (from, name) => {
    clear();
    const columns = all(".fx-col").filter((column) => column.querySelector("[data-d]"));
    let found = 0;
    for (const column of columns) {
      const lines = [...column.querySelectorAll("[data-d]")].filter((line) => places(line).some((p) => from.has(p)));
      lines.forEach((line) => light(line, "fx-lit"));
      if (lines.length > 0) found++;
    }
    lightSource(from);
    tell(name, null, found, columns.length);
    reveal();
  };

  root.addEventListener("click", (event) => {
    const at = event.target.closest("[data-v], [data-s], [data-d], [data-p]");
    if (!at) return event.target.closest("summary, details") ? undefined : clear();
    const { v, s, d } = at.dataset;
    if (v !== undefined) chooseValue(v);
    else if (s !== undefined) choosePlaces(new Set([s]), at.textContent);
    else if (d !== undefined) chooseValue(d);
    else choosePlaces(new Set(places(at)), at.textContent.trim());
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") clear(); });
  clear();
}
