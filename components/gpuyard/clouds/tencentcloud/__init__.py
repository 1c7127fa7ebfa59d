"""Builders for Tencent Cloud."""
