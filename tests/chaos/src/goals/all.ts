import { brokenServerGoals } from './broken-servers.js';
import { clockGoals } from './clocks.js';
import type { Goal } from './goal.js';
import { placingGoals } from './placing.js';
import { restartGoals } from './restarts.js';
import { libraryGoals } from './library.js';
import { longOutageGoals } from './long-outages.js';
import { overloadGoals } from './overload.js';
import { raceGoals } from './races.js';
import { stallGoals } from './stalls.js';
import { stormGoals } from './storms.js';

/** Goals by name, sorted by number. */
export const goals: Readonly<Record<string, Goal>> = Object.fromEntries(
  Object.entries({ ...placingGoals, ...stormGoals, ...restartGoals, ...longOutageGoals, ...raceGoals, ...overloadGoals, ...stallGoals, ...brokenServerGoals, ...clockGoals, ...libraryGoals }).sort(([a], [b]) => Number(a.slice(1)) - Number(b.slice(1))),
);
