import { randomBytes } from 'node:crypto';

// The permissions of deploy/nats/nats.conf are written for these shapes.

/** Where a service takes frames of calls, in a queue group of its own name. */
export const callsSubject = (service: string): string => `rpc.${service}`;

/** Where one process gets its answers: `<prefix>.<frame>`. */
export const answersPrefix = (service: string): string => `reply.${service}.${randomBytes(9).toString('base64url')}`;

/** A responder publishes nowhere else, whatever reply subject a caller names. */
export const isAnswersSubject = (subject: string): boolean => /^reply(\.[\w-]+){3}$/.test(subject);

/** The caller's process that a reply subject belongs to. */
export const prefixOf = (subject: string): string => subject.slice(0, subject.lastIndexOf('.'));
