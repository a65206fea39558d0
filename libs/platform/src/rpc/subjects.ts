import { randomBytes } from 'node:crypto';

const instance = (): string => randomBytes(9).toString('base64url');

// The permissions of deploy/nats/nats.conf are written for these shapes.

/** The subject on which a service receives frames of calls, in a queue group named after the service. */
export const callsSubject = (service: string): string => `rpc.${service}`;

/** The prefix of one process's reply subjects: `<prefix>.<frame>`. */
export const answersPrefix = (service: string): string => `reply.${service}.${instance()}`;

/** The subject of clock requests to a caller. The caller's reply inbox includes it. */
export const clockRequestSubject = (prefix: string): string => `${prefix}.clock`;

/** The prefix on which one process of a service receives its callers' clock readings: `<prefix>.<request>`. */
export const clockReadingsPrefix = (service: string): string => `clock.${service}.${instance()}`;

/** Whether a caller may send its clock reading to this subject, which the clock request names as its reply subject. */
export const isClockReadingsSubject = (subject: string): boolean => /^clock(\.[\w-]+){3}$/.test(subject);

/** Whether a service may send answers to this subject, which the call names as its reply subject. */
export const isAnswersSubject = (subject: string): boolean => /^reply(\.[\w-]+){3}$/.test(subject);

/** Returns the prefix of a reply subject, which identifies the calling process. */
export const prefixOf = (subject: string): string => subject.slice(0, subject.lastIndexOf('.'));

/** Returns the service that a calling process belongs to. */
export const callerOf = (prefix: string): string => prefix.split('.')[1] ?? '';
