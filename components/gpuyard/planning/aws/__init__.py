"""What only AWS decides: interfaces of EFA, kinds of FSx for Lustre, schedules of Data Lifecycle Manager."""
