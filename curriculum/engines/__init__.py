"""What generates rollouts: a real vLLM in this process, or a recording of earlier rollouts."""
