import './app/styles.js';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.js';
import { watchForNewRelease } from './app/new-release.js';

/** Characters that turn the direction of the text after them, also of what stands beside the name that has them. */
const turning = /[\u202a-\u202e\u2066-\u2069]/g;

/** Shows a text without them. Fields and downloads keep them. */
function straighten(node: Node): void {
  if ((node.textContent ?? '').search(turning) === -1) return;
  if (node instanceof Text) node.data = node.data.replaceAll(turning, '');
  else node.childNodes.forEach(straighten);
}

watchForNewRelease();
new MutationObserver((changes) => {
  for (const { type, target, addedNodes } of changes) (type === 'characterData' ? [target] : addedNodes).forEach(straighten);
}).observe(document.body, { subtree: true, childList: true, characterData: true });
const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(<App />);
// public/release.js counts how often the page did not start.
dispatchEvent(new Event('console-started'));
