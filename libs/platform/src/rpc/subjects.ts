import { randomBytes } from 'node:crypto';

const instance = (): string => randomBytes(9).toString('base64url');

// The permissions of deploy/nats/nats.conf are written for these shapes.

/** Where a service takes frames of calls, in a queue group of its own name. */
export const callsSubject = (service: string): string => `rpc.${service}`;

/** Where one process gets its answers: `<prefix>.<frame>`. */
export const answersPrefix = (service: string): string => `reply.${service}.${instance()}`;

/** Where a caller is asked for its clock: heard with its answers. */
export const clockRequestSubject = (prefix: string): string => `${prefix}.clock`;

/** Where one process of a service is told its callers' clocks: `<prefix>.<request>`. */
export const clockReadingsPrefix = (service: string): string => `clock.${service}.${instance()}`;

/** A caller tells its clock nowhere else, whatever reply subject a request for it names. */
export const isClockReadingsSubject = (subject: string): boolean => /^clock(\.[\w-]+){3}$/.test(subject);

/** A responder publishes nowhere else, whatever reply subject a caller names. */
export const isAnswersSubject = (subject: string): boolean => /^reply(\.[\w-]+){3}$/.test(subject);

/** The caller's process that a reply subject belongs to. */
export const prefixOf = (subject: string): string => subject.slice(0, subject.lastIndexOf('.'));

/** The service that a caller's process belongs to. */
export const callerOf = (prefix: string): string => prefix.split('.')[1] ?? '';
