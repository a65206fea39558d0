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

  all(form: Form): Selected {
    return this.cached(`${form}:*`, form, this.entries);
  }

  only(form: Form, isWanted: (entry: Entry) => boolean): Selected {
    const wanted = this.entries.filter(isWanted);
    if (wanted.length === this.entries.length) return this.all(form);
    return this.cached(`${form}:${wanted.map(({ place }) => place).join()}`, form, wanted);
  }

  private cached(key: string, form: Form, entries: readonly Entry[]): Selected {
    const known = this.joined.get(key);
    if (known) return known;
    const frames = entries.map((entry) => entry.frame(form)).filter((frame) => frame !== undefined);
    const [first, second] = frames;
    const bytes = first === undefined ? nothing.bytes : second === undefined ? first : Buffer.concat(frames);
    const selected = { bytes, count: frames.length };
    this.joined.set(key, selected);
    return selected;
  }
}
