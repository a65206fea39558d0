import { Controller } from '@nestjs/common';
import type { AuditEntry, ReadAudit } from '@plant-shop/contracts/audit';
import { identity } from '@plant-shop/contracts/identity';
import { readAuditLog } from '@plant-shop/platform/audit/audit-log';
import { Database } from '@plant-shop/platform/postgres/database';
import type { Page } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';

@Controller()
export class AuditController {
  constructor(private readonly database: Database) {}

  @Answers(identity.readAudit)
  readAudit(request: ReadAudit): Promise<Page<AuditEntry>> {
    return readAuditLog(this.database, 'identity', request);
  }
}
