import type { Nats } from '@plant-shop/platform/nats';
import { encodeEntry, encodeBatch, batchKinds } from '@plant-shop/platform/rpc/batch';
import { processNow } from '@plant-shop/platform/rpc/context';
import { answersPrefix, clockRequestSubject } from '@plant-shop/platform/rpc/operation';
import { type Fault, Run } from './run.js';

const callFaults: readonly Fault[] = ['fails', 'loses its answer', 'is never answered', 'crashes the process'];
/** For messages without a reply: answers, and announcements of committed changes. */
const messageFaults: readonly Fault[] = ['fails', 'is never answered', 'crashes the process'];

/** Injects faults into all messages that one service publishes. */
export function injectNatsFaults({ connection }: Nats, service: string): void {
  // Discards the answers sent here, but answers clock requests: a service drops the calls of a process that has ended.
  const unused = answersPrefix(service);
  const publish = connection.publish.bind(connection);
  connection.subscribe(clockRequestSubject(`${unused}.*`), {
    callback: (_error, { reply }) => {
      const reading = encodeEntry({ clock: processNow(), wall: Date.now() });
      if (reply !== undefined) publish(reply, encodeBatch(batchKinds.clockReading, [reading]));
    },
  });
  connection.publish = (subject, data, options) => {
    const run = Run.current;
    if (!run) {
      publish(subject, data, options);
      return;
    }
    if (run.hasCrashed) return;
    const isCall = subject.startsWith('rpc.');
    const description = subject.startsWith('reply.') ? 'answer' : subject;
    switch (run.faultFor({ description, faults: isCall ? callFaults : messageFaults })) {
      case undefined:
        publish(subject, data, options);
        break;
      case 'fails':
        throw new Error('not connected');
      case 'loses its answer':
        publish(subject, data, { ...options, reply: `${unused}.${subject.split('.')[1]}.1` });
        break;
      case 'is never answered':
        break;
      case 'crashes the process':
        publish(subject, data, options);
        run.crash();
    }
  };
}
