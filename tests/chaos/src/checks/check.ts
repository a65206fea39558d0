import type { History } from '../history.js';
import { checkAnswers } from './answers.js';
import { checkEvents } from './events.js';
import { checkAcknowledged, checkNothingInvented, checkOncePerKey, checkRefusedDidNothing, checkTimelines } from './orders.js';
import { checkOwnWrites } from './own-writes.js';
import { checkRegister } from './register.js';
import { checkInventory, checkStock } from './stock.js';
import type { Violation } from './violation.js';

const checks: readonly ((history: History) => Violation[])[] = [
  checkAnswers,
  checkAcknowledged,
  checkRefusedDidNothing,
  checkOncePerKey,
  checkNothingInvented,
  checkRegister,
  checkTimelines,
  checkStock,
  checkInventory,
  checkOwnWrites,
  checkEvents,
  ({ unsettled }) => unsettled.map((what) => ({ rule: 'settled', what })),
];

/** Everything that a history shows of broken promises. */
export const check = (history: History): Violation[] => checks.flatMap((one) => one(history));
