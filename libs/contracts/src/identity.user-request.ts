import { Text } from './fields.js';

/** What is asked about a user, by name. */
export class UserRequest {
  /** Any text: a name that cannot exist is `user-not-found`, like one that does not. */
  @Text()
  username: string;
}
