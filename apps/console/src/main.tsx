import './app/styles.js';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.js';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
createRoot(root).render(<App />);
// public/release.js counts how often the page did not start.
dispatchEvent(new Event('console-started'));
