import type { EventTypes } from '../event-log/event-types.js';
import type { Entry } from './entry.js';
import type { Form } from './frames.js';

/** Bytes for one client, and how many events and gaps they are. */
export interface Selected {
  readonly bytes: Buffer;
  readonly count: number;
}

const nothing: Selected = { bytes: Buffer.alloc(0), count: 0 };

/** Entries that go out together. Clients of one form that get the same of them share the same bytes. */
export class Batch {
  private readonly joined = new Map<string, Selected>();

  constructor(readonly entries: readonly Entry[]) {}

  /** All events of these types, and gaps. Looked up, not filtered, for each client after the first. */
  ofTypes(form: Form, types: EventTypes): Selected {
    return this.cached(`${form}:${types.key}`, () => this.only(form, ({ facts }) => !facts || types.has(facts.type)));
  }

  only(form: Form, isWanted: (entry: Entry) => boolean): Selected {
    const wanted = this.entries.filter(isWanted);
    return this.cached(`${form}:${wanted.map(({ place }) => place).join()}`, () => join(form, wanted));
  }

  private cached(key: string, make: () => Selected): Selected {
    let selected = this.joined.get(key);
    if (!selected) this.joined.set(key, (selected = make()));
    return selected;
  }
}

function join(form: Form, entries: readonly Entry[]): Selected {
  const frames = entries.map((entry) => entry.frame(form)).filter((frame) => frame !== undefined);
  const [first, second] = frames;
  const bytes = first === undefined ? nothing.bytes : second === undefined ? first : Buffer.concat(frames);
  return { bytes, count: frames.length };
}
