// The mail server of stack.mjs, a process of its own that faults kill. It journals each mail that it accepts before it answers. Of a share of the
// mails, it refuses some for now, accepts some slowly, some not in full, and some without an answer.
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

/** @typedef {'well' | 'refuse recipient' | 'refuse' | 'slowly' | 'too slowly' | 'cut' | 'no answer'} How */

/** @type {readonly How[]} */
const faults = ['refuse recipient', 'refuse', 'slowly', 'too slowly', 'cut', 'no answer'];
/** Longer than the shop waits. */
const tooSlowMs = 5_000;

/** @type {{ port: number, journal: string, failing: string }} */
const { port, journal, failing } = JSON.parse(process.argv[2] ?? '');
// The parent process has exited.
process.stdin.on('close', () => process.exit(1)).resume();

/** By the port of the client. @type {Map<number, import('node:net').Socket>} */
const sockets = new Map();
/** What becomes of the next mail, by session. @type {Map<string, How>} */
const plans = new Map();
const later = Object.assign(new Error('try again later'), { responseCode: 450 });

const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  onRcptTo: (_address, { id }, callback) => {
    const how = Math.random() < Number(readFileSync(failing, 'utf8')) ? (faults[Math.floor(Math.random() * faults.length)] ?? 'well') : 'well';
    plans.set(id, how);
    callback(how === 'refuse recipient' ? later : null);
  },
  onData: (stream, session, callback) => {
    const how = plans.get(session.id) ?? 'well';
    const socket = sockets.get(session.remotePort);
    if (how === 'cut') stream.once('data', () => socket?.destroy());
    stream.toArray().then((chunks) => accept(Buffer.concat(chunks), session.envelope, how, socket)).then(() => callback(), callback);
  },
});
// A client that hangs up is no fault of this server.
server.on('error', () => undefined);
server.server.on('connection', (socket) => {
  sockets.set(socket.remotePort ?? 0, socket);
  socket.once('close', () => sockets.delete(socket.remotePort ?? 0));
});
server.listen(port, '127.0.0.1', () => appendFileSync(journal, ''));

/** @param {Buffer} raw @param {import('smtp-server').SMTPServerEnvelope} envelope @param {How} how @param {import('node:net').Socket | undefined} socket */
async function accept(raw, envelope, how, socket) {
  if (how === 'refuse') throw later;
  if (how === 'slowly') await pause(300 + Math.random() * 1_200);
  if (how === 'too slowly') await pause(tooSlowMs);
  // The client has hung up: it does not count on this mail.
  if (!socket || socket.destroyed) throw later;
  const { messageId = '', subject = '', text = '' } = await PostalMime.parse(raw);
  const mail = {
    at: performance.timeOrigin + performance.now(),
    to: envelope.rcptTo.map(({ address }) => address),
    id: messageId.replace(/^<(.*)@.*>$/, '$1'),
    subject,
    link: /^https?:\S+$/m.exec(text)?.[0],
    isAnswered: how !== 'no answer',
  };
  appendFileSync(journal, `${JSON.stringify(mail)}\n`);
  if (how === 'no answer') socket.destroy();
}
