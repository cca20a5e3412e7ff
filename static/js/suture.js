// Entry point: marks the page as scripted, then starts the small behaviours. Every one of them only presses existing
// links, buttons and boxes, so the page without scripts does the same things.
import { startCopy } from "./copy.js";
import { startHotkeys } from "./hotkeys.js";
import { startLive } from "./live.js";
import { startMenus } from "./menus.js";
import { startSelection } from "./selection.js";
import { startTimeline } from "./timeline.js";
import { startPeek } from "./peek.js";
import { startReader } from "./reader.js";
import { startSwaps } from "./swaps.js";
import { startTimes } from "./times.js";

document.documentElement.classList.add("js");
startCopy();
startSelection();
startMenus();
startHotkeys();
startTimeline();
startPeek();
startReader();
startLive();
startSwaps();
startTimes();
