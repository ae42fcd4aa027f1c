"""Model servers: over HTTP (``openai_compat``) and the embedded eye, both through one bridge."""
