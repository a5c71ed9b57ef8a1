// The command line of a tool, before anything is made of it.

/// What a process was started with.
package enum ProgramArguments {
  /// The first argument that is no UTF-8, with marks in the place of what is none; nil if all are.
  ///
  /// `CommandLine.arguments` has such marks, too, and as a path that is the name of another file.
  package static func malformed() -> String? {
    let arguments = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for case let argument? in arguments where String(validatingCString: argument) == nil {
      return String(cString: argument)
    }
    return nil
  }
}
