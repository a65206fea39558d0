import type { History } from '../history.js';
import { checkAnswers } from './answers.js';
import { checkAudit } from './audit.js';
import { checkBaskets } from './baskets.js';
import { checkDestinations } from './destinations.js';
import { checkEvents } from './events.js';
import { checkAmendments, checkCreated, checkOncePerKey } from './keys.js';
import { checkStepsAreRequested } from './steps.js';
import { checkAcknowledged, checkNothingInvented, checkRefusedDidNothing, checkTimelines } from './orders.js';
import { checkMails } from './mails.js';
import { checkOwnWrites } from './own-writes.js';
import { checkPayments } from './payments.js';
import { checkRefusals } from './refusals.js';
import { checkRegister } from './register.js';
import { checkRevocations } from './revocations.js';
import { checkInventory, checkStock } from './stock.js';
import type { Violation } from './violation.js';
import { checkWork } from './work.js';

const checks: readonly ((history: History) => Violation[])[] = [
  checkAnswers,
  checkWork,
  checkAcknowledged,
  checkRefusedDidNothing,
  checkOncePerKey,
  checkCreated,
  checkAmendments,
  checkNothingInvented,
  checkBaskets,
  checkRegister,
  checkStepsAreRequested,
  checkTimelines,
  checkPayments,
  checkRefusals,
  checkRevocations,
  checkAudit,
  checkStock,
  checkInventory,
  checkOwnWrites,
  checkEvents,
  checkMails,
  checkDestinations,
  ({ final: { deadlocks } }) => (deadlocks === 0 ? [] : [{ rule: 'deadlocks', what: `transactions of the store were in ${deadlocks} deadlocks` }]),
  ({ unsettled }) => unsettled.map((what) => ({ rule: 'settled', what })),
];

/** Checks a history against all rules. */
export const check = (history: History): Violation[] => checks.flatMap((one) => one(history));
