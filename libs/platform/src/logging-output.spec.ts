import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

const logging = new URL('../dist/logging.js', import.meta.url).href;

/** Runs `work` in a child process with a logger named `log`. @returns the texts of the lines on its standard output */
function outputOf(work: string): Promise<{ texts: string[]; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    const program = `import { createLogger } from '${logging}'; const log = createLogger('store', 'info'); ${work}`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', reject);
    child.on('close', (_code, signal) => {
      const texts = output.split('\n').filter((line) => line !== '').map((line) => (JSON.parse(line) as { msg: string }).msg);
      resolve({ texts, signal });
    });
  });
}

const killSelf = `process.kill(process.pid, 'SIGKILL')`;

describe('standard output', () => {
  it('has every line of a process that exits', async () => {
    const { texts } = await outputOf(`for (let n = 0; n < 5000; n++) log.info(String(n));`);
    expect(texts).toEqual(Array.from({ length: 5_000 }, (_, n) => String(n)));
  });

  it('has every line up to a warning, even if the process is killed right after it', async () => {
    const { texts, signal } = await outputOf(`log.info('first'); log.warn('second'); log.info('lost'); ${killSelf};`);
    expect(signal).toBe('SIGKILL');
    expect(texts).toEqual(['first', 'second']);
  });

  it('lacks at most the last 100 ms of a process that is killed (slow)', async () => {
    const { texts } = await outputOf(`log.info('old'); setTimeout(() => { log.info('lost'); ${killSelf}; }, 500);`);
    expect(texts).toEqual(['old']);
  });
});
