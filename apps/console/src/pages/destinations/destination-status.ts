import { counted, formatDuration } from '../../ui/numbers.js';
import type { Destination } from './destination-reads.js';

export interface DestinationStatus {
  readonly label: 'Starting' | 'Running' | 'Behind' | 'Held' | 'Disabled';
  readonly color: string;
  /** Why, in a sentence or two. */
  readonly why: string;
}

/** New events are on their way for so long. */
const behindAfterSeconds = 10;

export function statusOf(destination: Destination): DestinationStatus {
  const { state, connected, held, behindSeconds } = destination;
  if (state === 'disabled') return { label: 'Disabled', color: 'gray', why: 'Nothing is published.' };
  if (held) return { label: 'Held', color: 'red', why: `${whyHeld(destination)} ${waitingText(destination)}` };
  if (behindSeconds >= behindAfterSeconds) return { label: 'Behind', color: 'yellow', why: waitingText(destination) };
  if (!connected) return { label: 'Starting', color: 'gray', why: 'The shop connects to its server.' };
  return { label: 'Running', color: 'green', why: 'It gets each new event.' };
}

function waitingText({ behindEvents, behindSeconds }: Destination): string {
  if (behindEvents === 0) return 'No event waits.';
  return `${counted(behindEvents, 'event waits', 'events wait')}, the oldest for ${formatDuration(behindSeconds * 1_000)}.`;
}

type Reason = NonNullable<Destination['held']>['reason'];

const reasons: Readonly<Record<Reason, (destination: Destination) => { readonly why: string; readonly remedy: string }>> = {
  unreachable: () => ({ why: 'The shop cannot connect to its server.', remedy: 'Check that the server runs, that its address is right, and that its certificate, if it has one, is trusted and of that name.' }),
  unauthorized: () => ({ why: 'Its server refuses the credentials, or what they may do.', remedy: 'Give its user the right to publish and to look at the stream, or enter other credentials under “Edit”.' }),
  'stream-missing': ({ stream, subject }) => ({ why: `Its server has no stream ${stream}.`, remedy: `Create the stream with the subjects ${subject}.>, or name another one under “Edit”.` }),
  'stream-full': ({ stream }) => ({ why: `The stream ${stream} is full.`, remedy: 'Raise the stream’s or the server’s limits, or remove old messages.' }),
  'other-subjects': ({ stream, subject }) => ({ why: `The stream ${stream} does not take the subjects ${subject}.>`, remedy: 'Give it these subjects, and no other stream, or change them under “Edit”.' }),
  'too-large': () => ({ why: 'An event is larger than its server or stream takes.', remedy: 'Raise the largest size of a message, of the stream or of the server.' }),
  refused: () => ({ why: 'Its server or the shop does not allow it.', remedy: 'What was said tells why. Addresses inside the shop’s network need a setting.' }),
};

/** A newer shop may know more reasons. */
const unknown = { why: 'Nothing can be published.', remedy: 'What was said tells why.' };

const heldOf = (destination: Destination): { readonly why: string; readonly remedy: string } =>
  (destination.held && (reasons as Readonly<Record<string, (typeof reasons)[Reason] | undefined>>)[destination.held.reason]?.(destination)) ?? unknown;

export const whyHeld = (destination: Destination): string => heldOf(destination).why;

/** What a person can do about it. */
export const remedyOf = (destination: Destination): string => heldOf(destination).remedy;
