import { Text } from './fields.js';

/** A request about a user, by name. */
export class UserRequest {
  /** Any text: a name of an invalid form is `user-not-found`, like one that does not exist. */
  @Text()
  username: string;
}
