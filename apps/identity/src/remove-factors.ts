import { configOrExit } from '@plant-shop/platform/service/service';
import { exitWithUsage, runCommand } from './command.js';
import { databaseSetting, secretSetting } from './config.js';
import { MailOutbox } from './mail/outbox.js';
import { identityCipher } from './secrets/secrets.js';
import { removeAllFactors } from './users/user-factors.service.js';

const [username, ...others] = process.argv.slice(2);
if (username === undefined || others.length > 0) exitWithUsage('node dist/remove-factors.js <username>');

const config = configOrExit({ ...databaseSetting, ...secretSetting });
await runCommand(config, async (database, actor, logger) => {
  const { user, removed } = await removeAllFactors(database, new MailOutbox(identityCipher(config.identitySecrets)), actor, username);
  logger.info({ userId: user.userId, username: user.username, removed }, 'factors removed');
  return `${user.username} has no second factor now (removed: ${removed}).`;
});
