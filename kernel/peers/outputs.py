"""Outputs of an executed notebook in a form that two clients agree on."""

# JupyterLab replaces this representation by its own drawing when it renders
# the Mermaid text beside it.
REDRAWN = "image/svg+xml"

# A measurement: no two runs show the same.
CAPTURE = "application/vnd.forge.capture+gzip"

# Cells whose outputs depend on the machine or the moment.
VARIABLE = {"timing", "measured", "nbval-ignore-output"}


def one(output):
    kind = output["output_type"]
    if kind == "stream":
        return (kind, output["name"], output["text"])
    if kind == "error":
        return (kind, output["ename"], output["evalue"])
    if CAPTURE in output["data"]:
        return (kind, sorted(output["data"]))
    data = {k: v for k, v in output["data"].items() if not (k == REDRAWN and "text/vnd.mermaid" in output["data"])}
    return (kind, {k: v.rstrip("\n") if isinstance(v, str) else v for k, v in data.items()})


def joined(outputs):
    """Neighbouring texts of one stream as one: where a client cuts them depends on
    when they come."""
    found = []
    for o in outputs:
        if o.get("metadata", {}).get("forge.progress"):
            continue  # a meter, which a quick run does not show
        before = found[-1] if found else None
        if before and o["output_type"] == before["output_type"] == "stream" and o["name"] == before["name"]:
            found[-1] = {**before, "text": before["text"] + o["text"]}
        else:
            found.append(o)
    return found


def cells(nb):
    """The outputs of each code cell; those of VARIABLE are only counted."""
    found = []
    for cell in nb.cells:
        if cell.cell_type != "code":
            continue
        variable = VARIABLE.intersection(cell.metadata.get("tags", []))
        found.append([o["output_type"] if variable else one(o) for o in joined(cell.outputs)])
    return found
