import { CodedError } from '@plant-shop/platform/errors';
import { configOrExit } from '@plant-shop/platform/service/service';
import { exitWithUsage, runCommand } from './command.js';
import { databaseSetting, secretSetting } from './config.js';
import { Cipher } from './credentials/cipher.js';
import { SigningKeysService } from './oauth/signing-keys.service.js';

const [asked, ...others] = process.argv.slice(2);
if (asked === undefined || others.length > 0) exitWithUsage('node dist/revoke-signing-key.js <kid, as tokens have it in their header | all>');

const config = configOrExit({ ...databaseSetting, ...secretSetting });
await runCommand(config, async (database, actor, logger) => {
  const keys = new SigningKeysService(database, new Cipher(config.identitySecrets));
  const done = await keys.revoke(actor, asked);
  if (!done) {
    const { keys: known } = await keys.read();
    throw new CodedError('invalid-input', `There is no key ${asked}. There are: ${known.map(({ kid }) => String(kid)).join(', ')}`);
  }
  const { revoked, signingKid } = done;
  logger.info({ revoked, signing: signingKid }, 'signing keys revoked');
  return `What ${revoked.join(' and ')} signed is refused within a second, here and everywhere. ${signingKid} signs from now on.`;
});
