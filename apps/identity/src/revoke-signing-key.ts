import { CodedError } from '@plant-shop/platform/errors';
import { configOrExit } from '@plant-shop/platform/service/service';
import { exitWithUsage, runCommand } from './command.js';
import { databaseSetting, secretSetting } from './config.js';
import { identityCipher } from './secrets/secrets.js';
import { SigningKeysService } from './oauth/signing-keys.service.js';

const [kidOrAll, ...others] = process.argv.slice(2);
if (kidOrAll === undefined || others.length > 0) exitWithUsage('node dist/revoke-signing-key.js <kid from the header of a token | all>');

const config = configOrExit({ ...databaseSetting, ...secretSetting });
await runCommand(config, async (database, actor, logger) => {
  const keys = new SigningKeysService(database, identityCipher(config.identitySecrets));
  const done = await keys.revoke(actor, kidOrAll);
  if (!done) {
    const { keys: known } = await keys.read();
    const existing = known.map(({ kid }) => String(kid)).join(', ');
    throw new CodedError('invalid-input', `There is no signing key ${kidOrAll}. Existing keys: ${existing}`);
  }
  const { revoked, signingKid } = done;
  logger.info({ revoked, signing: signingKid }, 'signing keys revoked');
  return (
    `Revoked ${revoked.join(' and ')}. Within a second, every service refuses tokens signed with a revoked key. ` +
    `New tokens are signed with ${signingKid}.`
  );
});
