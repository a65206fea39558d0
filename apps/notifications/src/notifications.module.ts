import { Module } from '@nestjs/common';

/** Answers nothing but `readiness` yet, which is every service's. */
@Module({})
export class NotificationsModule {}
