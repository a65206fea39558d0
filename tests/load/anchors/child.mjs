import { fork } from 'node:child_process';
import { once } from 'node:events';
import { pinnedNode } from '../../../tools/start/toolchain.mjs';
import { useOf } from '../processes.mjs';

/**
 * An anchor in a process of its own, so that its CPU time is its own. The script answers each message with a message.
 * @param {string} file
 */
export async function startChild(file) {
  const child = fork(new URL(file, import.meta.url), { execPath: pinnedNode(), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [ready] = await once(child, 'message');
  return {
    /** @type {any} what it said when it was ready */
    ready,
    seconds: () => useOf(/** @type {number} */ (child.pid)).seconds,
    rss: () => useOf(/** @type {number} */ (child.pid)).rss,
    /** @param {object} message @returns {Promise<any>} */
    async ask(message) {
      const answer = once(child, 'message');
      child.send(message);
      return (await answer)[0];
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
