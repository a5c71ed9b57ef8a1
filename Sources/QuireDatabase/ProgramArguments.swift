// The command line of a tool, before anything is made of it.

/// What a process was started with.
package enum ProgramArguments {
  /// The first argument that is no UTF-8, with marks in the place of what is none; nil if all are.
  ///
  /// `CommandLine.arguments` has such marks, too, and as a path that is the name of another file.
  package static func malformed() -> String? {
    let arguments = unsafe UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for index in arguments.indices {
      guard let argument = unsafe arguments[index] else { continue }
      if unsafe String(validatingCString: argument) == nil { return unsafe String(cString: argument) }
    }
    return nil
  }
}
