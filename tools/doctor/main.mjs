// `npm run doctor`: checks an installation and prints what is wrong and how to fix it. Changes nothing. Must run where nothing is
// installed, so packages are loaded only when a check needs them.
import { explain } from '../start/errors.mjs';
import { ROOT } from '../start/toolchain.mjs';
import { examine } from './examine.mjs';
import { exitCode, line, summary } from './finding.mjs';

const usage = `Checks this installation and prints problems with their remedies. Changes nothing.

  npm run doctor

Prints one line per check: "ok", "WRONG", or "?" if the check could not be made.
Exit code: 0 all checks passed, 1 something is wrong, 2 nothing is known to be wrong but some checks could not be made.
It finds the shop of npm start by RUN_FILE or DATA_DIR, or the containers of docker compose; other servers by
<SERVICE>_DATABASE_URL, NATS_URL and <USER>_NATS_PASSWORD, and with TLS by PGSSLROOTCERT and NATS_CA.`;

process.exit(await main());

/** @returns {Promise<number>} the exit code */
async function main() {
  if (process.argv.length > 2) {
    const isAsked = ['--help', '-h'].includes(process.argv[2] ?? '');
    console[isAsked ? 'log' : 'error'](usage);
    return isAsked ? 0 : 2;
  }
  try {
    const findings = [];
    for await (const finding of examine(ROOT, process.env)) {
      findings.push(finding);
      console.log(line(finding));
    }
    console.log(`\n${summary(findings)}`);
    return exitCode(findings);
  } catch (error) {
    console.error(explain(error));
    return 2;
  }
}
