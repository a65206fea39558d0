import { randomBytes } from 'node:crypto';

// The broker's accounts (deploy/nats/nats.conf, generated) let a service publish only on subjects that have its own name in the place of
// the sender. So a receiver takes the sender from the subject. `*` for a name or an instance gives a subscription's or permission's pattern.

const newInstance = (): string => randomBytes(9).toString('base64url');

/** The subject on which a service receives a caller's frames of calls, in a queue group named after the service. */
export const callsSubject = (service: string, caller: string): string => `rpc.${service}.${caller}`;

/** The prefix of the subjects on which one process receives answers: `<prefix>.<called service>.<frame>`. */
export const answersPrefix = (caller: string, instance = newInstance()): string => `reply.${caller}.${instance}`;

/** The subject of clock requests to a caller. The caller's reply inbox includes it. */
export const clockRequestSubject = (answers: string): string => `${answers}.clock`;

/** The prefix of the subjects on which one process of a service receives clock readings: `<prefix>.<caller>.<request>`. */
export const clockReadingsPrefix = (service: string, instance = newInstance()): string => `clock.${service}.${instance}`;

/** Returns the sender of calls. */
export const callerOf = (calls: string): string => calls.slice(calls.lastIndexOf('.') + 1);

/** Whether a caller may name this reply subject in calls to a service. The broker checks subjects, but no reply subjects. */
export const isAnswersSubject = (subject: string, caller: string, service: string): boolean => isExchange('reply', subject, caller, service);

/** Whether a service may name this reply subject in clock requests to a caller. */
export const isClockReadingsSubject = (subject: string, service: string, caller: string): boolean => isExchange('clock', subject, service, caller);

function isExchange(kind: string, subject: string, receiver: string, sender: string): boolean {
  const names = /^(reply|clock)\.([\w-]+)\.[\w-]+\.([\w-]+)\.[\w-]+$/.exec(subject);
  return names?.[1] === kind && names[2] === receiver && names[3] === sender;
}

/** Returns a reply subject without its last part: it identifies the calling process, and the called service. */
export const prefixOf = (subject: string): string => subject.slice(0, subject.lastIndexOf('.'));
