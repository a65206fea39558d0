import { type Document, DocumentJudge } from '../document.js';
import { NoAnswer, RawHttp } from '../raw-http.js';
import { faultsOf } from './faults.js';
import { Fixtures } from './fixtures.js';
import { type ApiDocument, type Generated, Requests, targetsOf } from './requests.js';

export interface FuzzOptions {
  readonly url: string;
  readonly seed: number;
  readonly count: number;
  /** Restricts the run to one operation, or those with one tag. */
  readonly only?: string;
  readonly say?: (line: string) => void;
}

export interface Finding {
  /** Replays it: `--seed <seed> --count 1 --only <operationId>`. */
  readonly seed: number;
  readonly operationId: string;
  readonly changes: readonly string[];
  readonly request: string;
  readonly answer: string;
  readonly faults: readonly string[];
}

export interface FuzzReport {
  readonly tried: number;
  readonly operations: number;
  readonly byStatus: ReadonlyMap<string, number>;
  readonly slowestMs: number;
  readonly findings: readonly Finding[];
}

/** The longest budget of an operation (three times 10 s) plus one second. */
const deadlineMs = 31_000;
const concurrency = 16;
/** Number of requests that share plants, orders and users. */
const batch = 500;
const maxFindings = 200;

/** Sends `count` generated requests and judges every answer. */
export async function fuzz({ url, seed, count, only, say }: FuzzOptions): Promise<FuzzReport> {
  const http = new RawHttp(url);
  const fixtures = new Fixtures(http);
  const { body } = await http.send({ method: 'GET', target: '/v3/openapi.json', headers: [] }, deadlineMs);
  const document = JSON.parse(body.toString()) as ApiDocument & Document;
  const judge = new DocumentJudge(document);
  const all = [...targetsOf(document), ...(await fixtures.tools())];
  const targets = all.filter(({ operationId, tags }) => only === undefined || operationId === only || tags?.includes(only));
  if (targets.length === 0) throw new Error(`There is no operation ${String(only)}. The operations are ${all.map((one) => one.operationId).join(', ')}.`);
  const credentials = await fixtures.credentials();
  const requests = new Requests(document, credentials);
  const secrets = Object.values(credentials).flat().map(([, value]) => value.replace(/^\w+ /, '')).filter((value) => value.length >= 11);

  const byStatus = new Map<string, number>();
  const findings: Finding[] = [];
  let slowestMs = 0;
  const countUp = (what: string): unknown => byStatus.set(what, (byStatus.get(what) ?? 0) + 1);
  const one = async (number: number, generated: Generated): Promise<void> => {
    const found = (answer: string, faults: readonly string[]): void => {
      if (faults.length > 0) findings.push({ seed: number, ...described(generated), answer, faults });
    };
    try {
      const answer = await http.send(generated.request, deadlineMs);
      countUp(answer.status >= 500 ? `${answer.status} ${codeIn(answer.body)}` : String(answer.status));
      slowestMs = Math.max(slowestMs, answer.ms);
      found(`${answer.status} ${answer.body.toString('utf8', 0, 400)}`, faultsOf(judge, generated.request, answer, secrets));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      // A request with broken framing may be answered by closing the connection.
      if (generated.request.alone && error.reason === 'closed') return void countUp('closed');
      countUp(error.reason);
      found('', [`no answer: ${error.reason}`]);
    }
  };

  let tried = 0;
  while (tried < count && findings.length < maxFindings) {
    const known = await fixtures.known();
    const end = Math.min(count, tried + batch);
    const next = (): number | undefined => (tried < end ? tried++ : undefined);
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (let number = next(); number !== undefined; number = next()) {
          const target = targets[(seed + number) % targets.length]!;
          await one(seed + number, requests.make(seed + number, target, known));
        }
      }),
    );
    if (tried % 5_000 === 0) say?.(`${tried} tried, ${findings.length} wrong`);
  }
  http.close();
  return { tried, operations: targets.length, byStatus, slowestMs, findings };
}

const codeIn = (body: Buffer): string => /"code":"([\w-]+)"/.exec(body.toString('utf8'))?.[1] ?? '';

function described({ operationId, changes, request }: Generated): Pick<Finding, 'operationId' | 'changes' | 'request'> {
  const { method, target, headers, body } = request;
  const text = body ? ` ${JSON.stringify(body.toString('utf8', 0, 300))}` : '';
  return { operationId, changes, request: `${method} ${target.slice(0, 300)} ${JSON.stringify(headers).slice(0, 400)}${text}` };
}
