import { configOrExit } from '@plant-shop/platform/service/service';
import { exitWithUsage, runCommand } from './command.js';
import { databaseSetting, secretSetting } from './config.js';
import { identityCipher } from './secrets/secrets.js';
import { publishedAheadSeconds, retiredKeyTtlSeconds } from './oauth/signing-key.js';
import { SigningKeysService } from './oauth/signing-keys.service.js';

if (process.argv.length > 2) exitWithUsage('node dist/rotate-signing-key.js');

const config = configOrExit({ ...databaseSetting, ...secretSetting });
await runCommand(config, async (database, actor, logger) => {
  const kid = await new SigningKeysService(database, identityCipher(config.identitySecrets)).rotate(actor);
  logger.info({ kid }, 'signing key rotated');
  return (
    `Created key ${kid}. It is published now and signs tokens in ${publishedAheadSeconds} s. ` +
    `Older keys verify tokens for another ${Math.round(retiredKeyTtlSeconds / 60)} minutes.`
  );
});
