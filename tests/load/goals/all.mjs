import { consoleGoals } from './console.mjs';
import { fairnessGoals } from './fairness.mjs';
import { growthGoals } from './growth.mjs';
import { loginGoals } from './logins.mjs';
import { orderGoals } from './orders.mjs';
import { readGoals } from './reads.mjs';
import { startGoals } from './start.mjs';
import { streamGoals } from './stream.mjs';
import { webhookGoals } from './webhooks.mjs';

export const goals = { ...orderGoals, ...readGoals, ...streamGoals, ...webhookGoals, ...growthGoals, ...loginGoals, ...startGoals, ...consoleGoals, ...fairnessGoals };
