// The start of the page, when all of its parts are there.

const pageName = [data.repository, data.range?.name].filter(Boolean).map(oneLine).join(" ");
document.title = `${pageName} – git boocode`;
document.body.classList.toggle("range", Boolean(data.range));
element("repository").textContent = pageName;
element("generated").textContent = data.served ? "Live" : `Written ${new Date(data.generated_at * 1000).toLocaleString()}`;
element("home").addEventListener("click", goHome);
element("search").addEventListener("input", filter);
element("scope").addEventListener("change", filter);
element("undo").addEventListener("click", () => takeStep("undo"));
element("redo").addEventListener("click", () => takeStep("redo"));
element("help").addEventListener("click", showKeys);
document.addEventListener("keydown", onKey);
addEventListener("popstate", () => show(addressNow()));
addEventListener("pagehide", rememberVisit);
const chooseLayout = followWidth(element("turn"));
drawKeys();
startPanes();
drawTimeline();
drawSteps();
show(addressNow(), { focus: false });
setInterval(refreshTimes, 60000);
if (data.served) follow();
