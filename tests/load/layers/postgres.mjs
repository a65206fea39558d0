import { Duplex } from 'node:stream';
import pg from 'pg';

/** Types of Postgres, by their object identifiers. */
export const types = { bigint: 20, text: 25, timestamptz: 1184, uuid: 2950 };

/**
 * Rows that a statement returns.
 * @typedef {object} Rows
 * @property {[name: string, type: number][]} columns
 * @property {(string | number)[][]} values
 */

/** @typedef {(parameters: string[]) => Rows} Answer */

/** What was sent to Postgres. @typedef {{ statements: number, roundTrips: number }} Traffic */

/**
 * Makes the driver connect to prepared answers instead of a server, at the level of the wire protocol: it serialises parameters and
 * parses rows as always. Statements without an answer return no rows.
 * @param {Record<string, Answer>} answers by the statement's name, or the beginning of its text
 * @returns {Traffic} which counts from now on
 */
export function replacePostgres(answers) {
  const traffic = { statements: 0, roundTrips: 0 };
  const { Pool } = pg;
  pg.Pool = class extends Pool {
    /** @param {object} options */
    constructor(options) {
      super({ ...options, stream: () => new Server(answers, traffic) });
    }
  };
  return traffic;
}

/** A connection to Postgres without a kernel socket. Answers all statements of a turn of the event loop together, in the next one. */
class Server extends Duplex {
  #answers;
  #traffic;
  /** @type {Map<string, Answer | undefined>} by the names of prepared statements */
  #prepared = new Map();
  /** @type {Answer | undefined} */
  #bound;
  /** @type {string[]} */
  #parameters = [];
  /** @type {Map<Answer, Map<string, Buffer>>} by the parameters, to spend no time of the measurement on building them */
  #built = new Map();
  /** @type {Buffer[]} */
  #replies = [];
  #isStarted = false;

  /** @param {Record<string, Answer>} answers @param {Traffic} traffic */
  constructor(answers, traffic) {
    super();
    this.#answers = answers;
    this.#traffic = traffic;
  }

  /** Socket methods that the driver calls. */
  connect() {
    setImmediate(() => this.emit('connect'));
  }
  setNoDelay() {}
  setKeepAlive() {}
  ref() {}
  unref() {}
  /** By which the store notices a stalled connection. */
  bytesRead = 0;
  bytesWritten = 0;

  /** @override */
  _read() {}

  /** @override @param {Buffer} message @param {BufferEncoding} _encoding @param {() => void} done */
  _write(message, _encoding, done) {
    this.#take(message);
    done();
  }

  /** @override @param {{ chunk: Buffer }[]} chunks each one message @param {() => void} done */
  _writev(chunks, done) {
    for (const { chunk } of chunks) this.#take(chunk);
    done();
  }

  /** @param {Buffer} message */
  #take(message) {
    this.bytesWritten += message.length;
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#reply(started);
      return;
    }
    switch (String.fromCharCode(message[0] ?? 0)) {
      case 'P': {
        const [name = '', text = ''] = texts(message, 2);
        this.#prepared.set(name, this.#answerTo(name, text));
        return this.#reply(parseComplete);
      }
      case 'B':
        return this.#bind(message);
      case 'E':
        this.#traffic.statements++;
        return this.#reply(this.#bound ? this.#rows(this.#bound, this.#parameters) : noRows);
      case 'S':
        return this.#reply(ready);
      case 'Q': {
        this.#traffic.statements++;
        const [text = ''] = texts(message, 1);
        const results = text.split(';').map((one) => {
          const answer = this.#answerTo('', one);
          return answer ? this.#rows(answer, []) : complete(one.trim().split(/\s/)[0] ?? '');
        });
        return this.#reply(Buffer.concat([...results, ready]));
      }
      case 'D':
        return; // `#rows` describes them.
      case 'X':
        return void this.push(null);
      default:
        throw new Error(`Unexpected message ${String.fromCharCode(message[0] ?? 0)}`);
    }
  }

  /** @param {string} name @param {string} text */
  #answerTo(name, text) {
    const trimmed = text.trim();
    const key = Object.keys(this.#answers).find((one) => (name ? one === name : trimmed.startsWith(one)));
    return key === undefined ? undefined : this.#answers[key];
  }

  /** @param {Buffer} message */
  #bind(message) {
    const [portal = '', name = ''] = texts(message, 2);
    this.#bound = this.#prepared.get(name);
    this.#parameters = [];
    if (this.#bound && this.#bound.length > 0) {
      let at = 5 + Buffer.byteLength(portal) + Buffer.byteLength(name) + 2;
      at += 2 + 2 * message.readUInt16BE(at);
      const count = message.readUInt16BE(at);
      at += 2;
      for (let n = 0; n < count; n++) {
        const length = message.readInt32BE(at);
        this.#parameters.push(message.toString('latin1', at + 4, at + 4 + Math.max(0, length)));
        at += 4 + Math.max(0, length);
      }
    }
    this.#reply(bindComplete);
  }

  /** @param {Answer} answer @param {string[]} parameters */
  #rows(answer, parameters) {
    const known = this.#built.get(answer) ?? new Map();
    this.#built.set(answer, known);
    const key = parameters.join('\n');
    let reply = known.get(key);
    if (!reply) {
      const { columns, values } = answer(parameters);
      reply = Buffer.concat([description(columns), ...values.map(row), complete(`SELECT ${values.length}`)]);
      known.set(key, reply);
    }
    return reply;
  }

  /** @param {Buffer} bytes */
  #reply(bytes) {
    if (this.#replies.push(bytes) > 1) return;
    setImmediate(() => {
      this.#traffic.roundTrips++;
      const reply = Buffer.concat(this.#replies);
      this.#replies = [];
      this.bytesRead += reply.length;
      this.push(reply);
    });
  }
}

/** Returns the elements of a list as the driver serialises it: `{1,"2"}`. @param {string | undefined} parameter */
export const elementsOf = (parameter) => (parameter ?? '').slice(1, -1).replaceAll('"', '').split(',').filter(Boolean);

/** Reads texts that end with a zero, after the message's header. @param {Buffer} message @param {number} count */
function texts(message, count) {
  const found = [];
  for (let at = 5; found.length < count; ) {
    const end = message.indexOf(0, at);
    found.push(message.toString('utf8', at, end));
    at = end + 1;
  }
  return found;
}

/** @param {string} type @param {Buffer[]} body */
function message(type, ...body) {
  const length = body.reduce((sum, one) => sum + one.length, 4);
  return Buffer.concat([Buffer.from(type), int32(length), ...body]);
}

/** @param {number} value */
function int32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** @param {number} value */
function int16(value) {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

/** @param {Rows['columns']} columns */
const description = (columns) =>
  message('T', int16(columns.length), ...columns.flatMap(([name, type]) => [Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)]));

/** @param {(string | number)[]} values */
const row = (values) => message('D', int16(values.length), ...values.map((one) => Buffer.from(String(one))).flatMap((one) => [int32(one.length), one]));

/** @param {string} command */
const complete = (command) => message('C', Buffer.from(`${command}\0`));

const ready = message('Z', Buffer.from('I'));
const parseComplete = message('1');
const bindComplete = message('2');
const noRows = Buffer.concat([message('n'), complete('SELECT 0')]);
const started = Buffer.concat([message('R', int32(0)), message('K', int32(1), int32(1)), ready]);
