// Placeholder until ValueCompression lands.
