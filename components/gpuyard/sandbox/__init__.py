"""The sandbox: the real Pulumi engine, state on this machine, and simulated clouds. No account, no cost."""
