import { formatNumber } from './numbers.js';

// What the shop says of one value of a request, for people: its own texts are for those who write programs.

/** A text of the API, as a pattern, and what to do. */
type Rule = readonly [text: RegExp, sentence: string | ((...parts: string[]) => string)];

const unclean = 'It has characters that cannot be stored. Type it again.';
const forPrograms = 'The console and the shop do not understand each other. Reload the page.';
const tooMuch = 'This is more than the shop takes. Make it smaller.';
const count = (digits: string): string => formatNumber(Number(digits));
const isAnyNumber = (max: string): boolean => Number(max) >= Number.MAX_SAFE_INTEGER;
const between = (min: string, max: string): string => (min === '0' ? `at most ${count(max)}` : `${count(min)} to ${count(max)}`);
const choices = (list: string): string => `Choose ${list.replace(/, ([^,]+)$/, ' or $1')}.`;

const rules: readonly Rule[] = [
  [/^must be a whole number from (\S+) to (\S+)$/, (min, max) => (isAnyNumber(max) ? `Write a whole number in digits, ${count(min)} or more.` : `Write a whole number in digits, from ${count(min)} to ${count(max)}.`)],
  [/^must (?:be text of|have) (\d+) to (\d+) characters$/, (min, max) => `Enter ${between(min, max)} characters.`],
  [/^must be text of at most (\d+) characters$|^must have at most (\d+) characters in all$/, (one, all = one) => `Enter at most ${count(all)} characters.`],
  [/^must have at least (\d+) characters$/, (min) => `Enter at least ${count(min)} characters.`],
  [/NUL characters|surrogate/, unclean],
  [/control characters, except/, 'It has characters that cannot be shown. Type it again.'],
  [/^must have a character that can be seen$/, 'Enter something that can be seen.'],
  [/^must be an e-mail address/, 'Enter an e-mail address, such as ada@example.com.'],
  [/^must be a date-time/, 'Enter a date and a time.'],
  [/^must be in the (future|past)$/, (side) => `Choose a time in the ${side}.`],
  [/^must be true or false$/, 'Choose yes or no.'],
  [/^must be (?:one of|one or more of|some of) (.+)$/, choices],
  [/^must be one or more names of tags$/, 'Enter at least one tag.'],
  [/^must contain only values from /, 'Choose only what the list has.'],
  [/^must contain texts of 1 to (\d+) characters$/, (max) => `Each needs 1 to ${count(max)} characters.`],
  [/^must have (\d+) to (\d+) entries$/, (min, max) => `Choose ${between(min, max)}.`],
  [/^must have at most (\S+) (?:entries|pairs)/, (max) => `There may be at most ${count(max)}.`],
  [/^must not repeat /, 'The same is there twice. Remove one.'],
  [/^must not be empty$|^must not be an empty file$/, 'There is nothing in it. Choose another one.'],
  [/^must be given|^is required/, 'This is needed.'],
  [/^must begin with a letter from A to Z/, 'Use 1 to 64 letters, digits, underscores and . @ + -. Begin with a letter or a digit. Some names are reserved.'],
  [/^is already taken; choose/, 'Another user has this name. Choose another one.'],
  [/^is already taken; omit/, 'Another user has this number. Leave it empty to get one.'],
  [/^is that of (?:another )?plant (\d+)$/, (id) => `Plant ${id} has it already.`],
  [/^is that of (?:another )?(\w+)/, (kind) => `Another ${kind} has it already.`],
  [/^must be the name of a user$/, 'No user is called that. Check the spelling.'],
  [/^must not be your username/, 'Choose another one than your name or e-mail address.'],
  [/^must not be the shop's name$|^is too common/, 'This is too easy to guess. Choose another one.'],
  // addresses
  [/^must be a URL$/, 'Enter an address, such as https://example.com/hooks.'],
  [/^must be an http or https URL/, 'Enter an address that begins with https:// or http://, without blanks.'],
  [/^must be an https URL$/, 'Enter an address that begins with https://.'],
  [/^must not hold credentials$/, 'Leave the name and the password out of the address.'],
  [/^must not have port (\d+)$/, (port) => `The shop does not call port ${port}. Use another one.`],
  [/^must not lead to an address that is not public$/, 'The shop calls public addresses only. This one is not.'],
  [/^must not use an internal name$/, 'The shop calls public addresses only. Use the full name of the server.'],
  [/^must contain addresses without spaces/, 'Enter addresses without blanks.'],
  [/^must be a normalised URL/, 'Enter each address as browsers show it: with https, or http on this computer, without a user and without #.'],
  [/^must contain an address with /, 'Enter at least one address.'],
  [/^must be empty without |^must be absent without /, 'Leave this empty: nobody logs in to such an application.'],
  [/^must be false with |^must contain \w+ if it contains /, 'This does not go with what else you chose.'],
  // destinations
  [/^must be like tls:/, 'Enter an address, such as tls://broker.example:4222.'],
  [/^must be the name of a stream$/, 'Enter the name of a stream: without blanks, dots and signs such as * or >.'],
  [/^must be words separated by dots$/, 'Enter words with dots between them, such as shop.orders.'],
  // plants in files
  [/^must be a list$/, 'Give a list.'],
  [/^must be an object with id and name$/, 'Give a name, or an id and a name.'],
  [/^must be an object of at most (\S+) texts of at most (\d+) characters/, (pairs, longest) => `There may be ${count(pairs)} texts of ${count(longest)} characters.`],
  [/^must be a JSON (?:object|array)$/, 'This is not the JSON of a plant.'],
  [/^is not a member/, 'Plants have no such field. Remove it.'],
  [/^has a member|^must not have a member|nested deeper|^must have at most \S+ (?:values|members|parameters)/, tooMuch],
  // single pages
  [/^must leave at most /, 'There would be more units than the shop can count.'],
  [/^must have name or status/, 'Change the name or the status.'],
  [/^must be (?:a file|base64)|^must hold 1 to \S+ bytes|^must follow in order|^only the last chunk/, 'The file was not sent completely. Choose it again.'],
  [/UUID|SHA-256|snapshot|percent-encoded|entity tag|ASCII|ids of plants|positive numbers|whole numbers|numbers up to|^must be \w+$/, forPrograms],
];

/** What every other text becomes, which only a newer shop has. */
export const notAccepted = 'The shop does not accept this.';

/** @param detail of an error of a problem; that of a parameter begins with its name */
export function fieldSentence(detail: string): string {
  const text = detail.replace(/^[\w-]+ (?=must )/, '');
  for (const [pattern, sentence] of rules) {
    const found = pattern.exec(text);
    if (found) return typeof sentence === 'string' ? sentence : sentence(...found.slice(1));
  }
  return notAccepted;
}
