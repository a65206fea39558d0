import { permissions, roles } from '@plant-shop/contracts/permissions';
import { configOrExit } from '@plant-shop/platform/service/service';
import { exitWithUsage, runCommand } from './command.js';
import { databaseSetting, secretSetting } from './config.js';
import { MailOutbox } from './mail/outbox.js';
import { identityCipher } from './secrets/secrets.js';
import { changeRole } from './users/users.service.js';

const [username, roleName, ...others] = process.argv.slice(2);
const role = roles.find((known) => known === roleName);
if (username === undefined || role === undefined || others.length > 0) {
  exitWithUsage(`node dist/set-role.js <username> <${roles.join('|')}>`);
}

const config = configOrExit({ ...databaseSetting, ...secretSetting });
await runCommand(config, async (database, actor, logger) => {
  const { before, user } = await changeRole(database, new MailOutbox(identityCipher(config.identitySecrets)), actor, { username, role, by: { permissions } });
  if (before === role) return `${user.username} is already ${role}; nothing changed.`;
  logger.info({ userId: user.userId, username: user.username, before, after: role }, 'role changed');
  return `${user.username} is ${role} now (was ${before}).`;
});
