import { fork } from 'node:child_process';
import { once } from 'node:events';
import { pinnedNode } from '../../../tools/start/toolchain.mjs';
import { useOf } from '../processes.mjs';

/**
 * Runs an anchor in a separate process, so that its CPU time can be measured. The script answers each message with one.
 * @param {string} file
 */
export async function startChild(file) {
  const child = fork(new URL(file, import.meta.url), { execPath: pinnedNode(), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [ready] = await once(child, 'message');
  return {
    /** @type {any} its first message, sent when ready */
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
