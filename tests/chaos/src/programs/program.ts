import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** Starts a program of this folder in a child process, which exits when this process does. */
export const startProgram = (name: 'place-orders' | 'follow-events' | 'follow-events-in-browser', job: object): ChildProcessByStdio<Writable, Readable, null> =>
  spawn(process.execPath, [join(import.meta.dirname, `${name}.js`), JSON.stringify(job)], { stdio: ['pipe', 'pipe', 'inherit'] });
