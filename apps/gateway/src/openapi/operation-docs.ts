import type { SchemaWithComponents } from '@plant-shop/contracts/answers';
import type { JsonSchema } from '@plant-shop/contracts/schema';
import type { Operation } from '@plant-shop/platform/rpc/operation';

/** What the document adds to an operation's route and contract. */
export interface OperationDocs {
  readonly tag: 'Plants' | 'Store' | 'Users' | 'OAuth' | 'Webhooks' | 'Shop';
  readonly summary: string;
  readonly description?: string;
  /** The calls to services that the operation makes. The first determines parameters, body and examples. */
  readonly calls?: readonly Operation<object, unknown>[];
  /** Query parameters, by the names of members of the first call's payload. */
  readonly query?: readonly string[];
  readonly answer: AnswerDocs;
}

export type AnswerDocs =
  /** The answer of the first call, forwarded. */
  | { readonly kind: 'forwarded'; readonly schema: SchemaWithComponents }
  /** The specification's ApiResponse, with an example of its message. */
  | { readonly kind: 'apiResponse'; readonly message: string; readonly headers?: Readonly<Record<string, JsonSchema>> }
  | { readonly kind: 'json'; readonly schema: JsonSchema; readonly example?: unknown; readonly alsoStatus?: 503; readonly hasEtag?: true }
  /** One JSON object per line. */
  | { readonly kind: 'lines'; readonly description: string; readonly example: readonly object[] }
  | { readonly kind: 'image' };

export const forwarded = (schema: SchemaWithComponents): AnswerDocs => ({ kind: 'forwarded', schema });

export const apiResponse = (message: string, headers?: Readonly<Record<string, JsonSchema>>): AnswerDocs => ({
  kind: 'apiResponse',
  message,
  ...(headers && { headers }),
});
