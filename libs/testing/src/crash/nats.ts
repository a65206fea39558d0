import type { Nats } from '@plant-shop/platform/nats';
import { encodeEntry, encodeFrame, frameKinds } from '@plant-shop/platform/rpc/frame';
import { processNow } from '@plant-shop/platform/rpc/process-clock';
import { clockRequestSubject } from '@plant-shop/platform/rpc/subjects';
import { type Fate, Run } from './run.js';

// Nobody takes answers here. Clock requests are answered, as by a caller that lives: calls of one that has ended are dropped.
const nowherePrefix = 'reply.nobody.nobody';
const nowhere = `${nowherePrefix}.1`;

const callFates: readonly Fate[] = ['fails', 'loses its answer', 'is never answered', 'is the last'];
/** Nothing is waited for: an answer, or news of what was committed. */
const messageFates: readonly Fate[] = ['fails', 'is never answered', 'is the last'];

/** All that one service sends over NATS, in the hands of a test. */
export function troubleNats({ connection }: Nats): void {
  const publish = connection.publish.bind(connection);
  connection.subscribe(clockRequestSubject(nowherePrefix), {
    callback: (_error, { reply }) => {
      const reading = encodeEntry({ clock: processNow(), wall: Date.now() });
      if (reply !== undefined) publish(reply, encodeFrame(frameKinds.clockReading, [reading]));
    },
  });
  connection.publish = (subject, data, options) => {
    const run = Run.current;
    if (!run) {
      publish(subject, data, options);
      return;
    }
    if (run.isDead) return;
    const isCall = subject.startsWith('rpc.');
    const what = subject.startsWith('reply.') ? 'answer' : subject;
    switch (run.meet({ what, fates: isCall ? callFates : messageFates })) {
      case undefined:
        publish(subject, data, options);
        break;
      case 'fails':
        throw new Error('not connected');
      case 'loses its answer':
        publish(subject, data, { ...options, reply: nowhere });
        break;
      case 'is never answered':
        break;
      case 'is the last':
        publish(subject, data, options);
        run.end();
    }
  };
}
