import { type CustomTransportStrategy, Server } from '@nestjs/microservices';

/** The transport of an app that answers no calls. */
export class NoRpcTransport extends Server implements CustomTransportStrategy {
  listen(callback: () => void): void {
    callback();
  }

  close(): void {
    // Nothing was opened.
  }

  on(): never {
    throw new Error('NoCalls has no events of its own');
  }

  unwrap(): never {
    throw new Error('NoCalls has no connection');
  }
}
