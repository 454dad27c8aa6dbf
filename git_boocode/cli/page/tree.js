// Changed files as folders that can be folded, with how much changed in each.

// Folders with a single folder in them are one entry.
function treeOf(files) {
  const top = { folders: new Map(), files: [] };
  for (const file of files) {
    let folder = top;
    for (const name of file.path.split("/").slice(0, -1)) {
      if (!folder.folders.has(name)) folder.folders.set(name, { folders: new Map(), files: [] });
      folder = folder.folders.get(name);
    }
    folder.files.push(file);
  }
  return top;
}

function treeList(folder, open) {
  const folders = [...folder.folders].map(([first, inside]) => {
    let [name, within] = [first, inside];
    while (within.folders.size === 1 && !within.files.length) {
      const [[next, deeper]] = within.folders;
      [name, within] = [`${name}/${next}`, deeper];
    }
    const files = filesIn(within);
    return make("li", {}, make("details", { open: true },
      make("summary", {}, make("span", { class: "path" }, pathText(name)), make("span", { class: "facts" }, counted(files.length, "file"))),
      treeList(within, open)));
  });
  const leaves = folder.files.map((file) => make("li", {},
    make("button", { type: "button", class: "leaf", "data-path": file.path, title: pathText(file.path), onclick: () => open(file.path) },
      make("span", { class: "path" }, pathText(file.path.slice(file.path.lastIndexOf("/") + 1))), countsOf(file))));
  return make("ul", {}, folders, leaves);
}

const filesIn = (folder) => [...folder.files, ...[...folder.folders.values()].flatMap(filesIn)];

function countsOf(file) {
  if (file.added === null) return make("span", { class: "facts" }, file.missing === "size" ? "large" : "binary");
  return make("span", { class: "facts" },
    lineCounts(file));
}
