import { roles } from '@plant-shop/contracts/permissions';
import { configOrExit } from '@plant-shop/platform/service/service';
import { exitWithUsage, runCommand } from './command.js';
import { databaseSetting } from './config.js';
import { changeRole } from './users/roles.js';

const [username, asked, ...others] = process.argv.slice(2);
const role = roles.find((one) => one === asked);
if (username === undefined || role === undefined || others.length > 0) {
  exitWithUsage(`node dist/set-role.js <username> <${roles.join('|')}>`);
}

await runCommand(configOrExit(databaseSetting), async (database, actor, logger) => {
  const { before, after, ...user } = await changeRole(database, actor, username, role);
  if (before === after) return `${user.username} is ${after} already; nothing was changed.`;
  logger.info({ ...user, before, after }, 'role changed');
  return `${user.username} is ${after} now, and was ${before} before.`;
});
