"""Alibaba Cloud: one plan field to one resource property."""
