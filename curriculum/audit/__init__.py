"""Audits verifiers: throws adversarial and honest responses at one and reports what it gets wrong."""

from curriculum.audit.report import FAULTS, AuditReport, FamilyCount, Fault, Finding
from curriculum.audit.run import AuditOptions, audit

__all__ = ["FAULTS", "AuditOptions", "AuditReport", "FamilyCount", "Fault", "Finding", "audit"]
